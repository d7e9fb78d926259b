export const WAREHOUSE_NAME = '1 to 60 characters';

/** @returns the name without spaces around it; null if it is none. */
export function warehouseNameIn(text: string): string | null {
  const name = text.trim();
  return /^\P{Cc}{1,60}$/u.test(name) && name.isWellFormed() ? name : null;
}
