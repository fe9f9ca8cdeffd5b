#pragma once
#include <cstdlib>
namespace headway { inline double lab_get(char const* n, double d){ auto* v=std::getenv(n); return v?std::atof(v):d; } }
#define LAB(name, def) ([]{ static double const v = headway::lab_get(name, def); return v; }())
