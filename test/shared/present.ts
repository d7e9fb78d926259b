/** Fails at the caller's line if the value is missing. */
export function present<T>(value: T): NonNullable<T> {
  if (value !== null && value !== undefined) return value;
  const error = new Error(`a value has to be here, and it is ${String(value)}`);
  Error.captureStackTrace(error, present);
  throw error;
}
