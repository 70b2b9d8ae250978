# SPDX-License-Identifier: MIT
# test_kernel_module(NAME SOURCE…): <current build dir>/<release>/NAME.ko for every kernel whose headers are installed,
# all of them the target NAME_modules; `NAME_files` in the caller's scope is the list. A Kbuild is among the sources.
function(test_kernel_module name)
  file(GLOB kernel_builds CONFIGURE_DEPENDS ${KPL_KERNELS}/*/build/Makefile)
  set(files)
  foreach(makefile ${kernel_builds})
    string(REGEX REPLACE "^.*/([^/]*)/build/Makefile$" "\\1" release ${makefile})
    set(dir ${CMAKE_CURRENT_BINARY_DIR}/${release})
    # kbuild writes beside the sources
    add_custom_command(
      OUTPUT ${dir}/${name}.ko
      COMMAND ${CMAKE_COMMAND} -E make_directory ${dir}
      COMMAND ${CMAKE_COMMAND} -E copy_if_different ${ARGN} ${dir}
      COMMAND ${CMAKE_COMMAND} -E rm -f ${dir}/${name}.ko  # what was stripped has no debug information to make types of
      COMMAND ${CMAKE_COMMAND} -E env --unset=MAKEFLAGS --unset=MFLAGS --unset=MAKELEVEL
              make -s -C ${KPL_KERNELS}/${release}/build M=${dir} CONFIG_DEBUG_INFO_BTF_MODULES= modules
      COMMAND ${PROJECT_SOURCE_DIR}/tests/module-types ${dir}/${name}.ko ${release} ${PROJECT_BINARY_DIR}/kernel-btf ${KPL_KERNELS}/${release}/build
      COMMAND objcopy --strip-debug ${dir}/${name}.ko
      DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/tests/module-types ${KPL_KERNELS}/${release}/build/Module.symvers
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
      COMMENT "Building ${name} for ${release}"
      VERBATIM)
    list(APPEND files ${dir}/${name}.ko)
  endforeach()
  add_custom_target(${name}_modules ALL DEPENDS ${files})
  set(${name}_files ${files} PARENT_SCOPE)
endfunction()
