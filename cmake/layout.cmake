# usage: cmake -DINCLUDE=FOLDER -DROOT=HEADER -DNAME=MACRO -DOUT=FILE -P layout.cmake
# Writes a header with a digest of what processes read of each other: ROOT and the headers that it includes, without
# comments and line ends. Builds that lay it out in another way, or mean another thing by it, have another digest.
cmake_minimum_required(VERSION 3.24)
set(rest ${ROOT})
set(seen "")
set(all "")
while(rest)
  list(POP_FRONT rest header)
  if(NOT header IN_LIST seen)
    list(APPEND seen ${header})
    file(READ ${INCLUDE}/${header} text)
    string(REGEX MATCHALL "#include \"headway/[^\"]+" included "${text}")
    list(TRANSFORM included REPLACE "#include \"" "")
    list(APPEND rest ${included})
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "[ \n]+" " " text "${text}")
    string(APPEND all "${text}")
  endif()
endwhile()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 16 digest)
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT
[[// Written by cmake/layout.cmake.
#pragma once

#define @NAME@ "@digest@"
]])
