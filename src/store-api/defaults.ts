/** Options as a caller may write them: `undefined` means the default, as if the option were absent. */
export type Overrides<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

export function withDefaults<T extends object>(defaults: T, overrides: Overrides<T> | undefined): T {
  const present = Object.entries(overrides ?? {}).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(present) };
}
