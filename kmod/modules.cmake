# SPDX-License-Identifier: MIT
# build/kmod/<release>/kprobe_lua.ko, and kprobe_lua_stubs.ko where the kernel has what that needs, for every kernel whose
# headers are installed. kbuild wants to write beside the sources, so each kernel gets a directory of links to them; kbuild
# itself knows what has changed.

set(KPL_KERNELS /lib/modules CACHE PATH "where RELEASE/build is what modules for that kernel are built with")
file(GLOB kernel_builds CONFIGURE_DEPENDS ${KPL_KERNELS}/*/build/Makefile)
set(module_source_dir ${CMAKE_CURRENT_LIST_DIR})
set(patterns *.c *.h *.def *.S *.lds *.sh Kbuild)
list(TRANSFORM patterns PREPEND ${module_source_dir}/)
file(GLOB_RECURSE module_sources CONFIGURE_DEPENDS RELATIVE ${module_source_dir} ${patterns})
include(ProcessorCount)
ProcessorCount(processors)
if(processors EQUAL 0)
  set(processors 1)
endif()

# Makes `dir` hold a link to each source and no link to one that is gone.
function(link_module_sources dir)
  file(GLOB_RECURSE present RELATIVE ${dir} ${dir}/*)
  foreach(file ${present})
    if(IS_SYMLINK ${dir}/${file} AND NOT file IN_LIST module_sources)
      file(REMOVE ${dir}/${file})
    endif()
  endforeach()
  foreach(source ${module_sources})
    cmake_path(GET source PARENT_PATH parent)
    file(MAKE_DIRECTORY ${dir}/${parent})
    if(NOT IS_SYMLINK ${dir}/${source})
      file(CREATE_LINK ${module_source_dir}/${source} ${dir}/${source} SYMBOLIC)
    endif()
  endforeach()
endfunction()

# Type information of the module is left out: making it needs the kernel's own vmlinux, which no package has.
# Debug information stays in the kbuild directory, for reading an oops; what is loaded goes without.
function(add_kernel_module release)
  set(test_rows)
  if(KPL_TEST_ROWS)
    set(test_rows KPL_TEST_ROWS=ON)
  endif()
  set(kernel ${KPL_KERNELS}/${release}/build)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${release})
  link_module_sources(${dir}/src)
  set(sources ${module_sources})
  list(TRANSFORM sources PREPEND ${module_source_dir}/)
  add_custom_command(
    OUTPUT ${dir}/kprobe_lua.ko
    BYPRODUCTS ${dir}/kprobe_lua_stubs.ko
    # not a child of a make that may stand above: its job server is not for us
    COMMAND ${CMAKE_COMMAND} -E env --unset=MAKEFLAGS --unset=MFLAGS --unset=MAKELEVEL
            make -s -j${processors} -C ${kernel} M=${dir}/src CONFIG_DEBUG_INFO_BTF_MODULES= ${test_rows} modules
    COMMAND sh -c "! [ -e $0/src/kprobe_lua_stubs.ko ] || objcopy --strip-debug $0/src/kprobe_lua_stubs.ko $0/kprobe_lua_stubs.ko" ${dir}
    COMMAND objcopy --strip-debug ${dir}/src/kprobe_lua.ko ${dir}/kprobe_lua.ko
    DEPENDS ${sources} ${kernel}/Module.symvers
    COMMENT "Building the module for ${release}"
    VERBATIM)
endfunction()

set(modules)
set(objects)
foreach(makefile ${kernel_builds})
  string(REGEX REPLACE "^.*/([^/]*)/build/Makefile$" "\\1" release ${makefile})
  add_kernel_module(${release})
  list(APPEND modules ${CMAKE_CURRENT_BINARY_DIR}/${release}/kprobe_lua.ko)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${release}/kprobe_lua.ko DESTINATION /lib/modules/${release}/extra
    COMPONENT modules EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${release}/kprobe_lua_stubs.ko DESTINATION /lib/modules/${release}/extra
    COMPONENT modules EXCLUDE_FROM_ALL OPTIONAL)
  list(APPEND objects ${CMAKE_CURRENT_BINARY_DIR}/${release}/src)
endforeach()
set(KPL_MODULE_OBJECTS ${objects} PARENT_SCOPE)
if(NOT modules)
  message(WARNING "no kernel headers in ${KPL_KERNELS}: the module is not built; setup/install brings them")
endif()
add_custom_target(kernel_modules ALL DEPENDS ${modules})
