# SPDX-License-Identifier: MIT
# One archive of several. In: AR, OUT, ARCHIVES (a list).
set(script "CREATE ${OUT}\n")
foreach(archive ${ARCHIVES})
  string(APPEND script "ADDLIB ${archive}\n")
endforeach()
string(APPEND script "SAVE\nEND\n")
file(REMOVE ${OUT})
file(WRITE ${OUT}.mri "${script}")
execute_process(COMMAND ${AR} -M INPUT_FILE ${OUT}.mri COMMAND_ERROR_IS_FATAL ANY)
