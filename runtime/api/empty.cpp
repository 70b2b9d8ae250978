// SPDX-License-Identifier: MIT
// The library is made of the archives that it links.
