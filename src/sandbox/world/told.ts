import { z } from 'zod';

/** A field of the store's answers: present, or absent but never null ("Conventions" 4). */
type Told<Field> =
  Field extends z.ZodCatch<infer Inner>
    ? Told<Inner>
    : Field extends z.ZodPipe<infer Inner, z.ZodTransform>
      ? Told<Inner>
      : Field extends z.ZodOptional<z.ZodNullable<infer Inner>>
        ? z.ZodOptional<Inner>
        : Field;

/** The fields of a client schema without its leniency (`optional`, `lenient`). */
export function told<Shape extends z.ZodRawShape>(shape: Shape) {
  return Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, withoutLeniency(field)])) as {
    [Name in keyof Shape]: Told<Shape[Name]>;
  };
}

function withoutLeniency(field: z.core.$ZodType): z.core.$ZodType {
  if (field instanceof z.ZodCatch) return withoutLeniency(field.unwrap());
  if (field instanceof z.ZodPipe) return withoutLeniency(field.in);
  if (!(field instanceof z.ZodOptional)) return field;
  const inner = field.unwrap();
  return inner instanceof z.ZodNullable ? z.optional(inner.unwrap()) : field;
}
