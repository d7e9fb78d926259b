/** The shape of the products that the lean store makes of their numbers. */
export const LEAN_WAREHOUSES = [
  ['701', '702', '703'],
  ['701', '702', '703'],
  ['701', '702', '703', '704'],
] as const;
export const LEAN_VARIANTS_A_PRODUCT = LEAN_WAREHOUSES.length;
export const LEAN_LEVELS_A_PRODUCT = LEAN_WAREHOUSES.flat().length;
