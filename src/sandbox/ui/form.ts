import type { z } from 'zod';
import type { ApiEnv } from '../api/api.ts';
import type { Context } from 'hono';
import { ApiError } from '../shared/errors.ts';
import { describe, readBody } from '../api/request-body.ts';

/** The fields that a form of the page posted. Throws ApiError 400 for a body of another type. */
export async function readForm(context: Context<ApiEnv>): Promise<URLSearchParams> {
  const raw = await readBody(context.env.incoming);
  // The browser's type for forms, with which it also sends their origin.
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(context.req.header('Content-Type') ?? '')) {
    throw new ApiError(400, 'invalid_request', 'Content-Type must be application/x-www-form-urlencoded');
  }
  return new URLSearchParams(raw.toString('utf8'));
}

export function text(form: URLSearchParams, name: string): string {
  return form.get(name)?.trim() ?? '';
}

/** A number as typed. Throws ApiError 400 when it is missing or not a number. */
export function number(form: URLSearchParams, name: string): number {
  return typed(form, name, /^[+-]?\d+(\.\d+)?$/, 'a number');
}

export function whole(form: URLSearchParams, name: string): number {
  return typed(form, name, /^[+-]?\d+$/, 'a whole number');
}

function typed(form: URLSearchParams, name: string, pattern: RegExp, what: string): number {
  const value = text(form, name);
  if (pattern.test(value)) return Number(value);
  const not = value === '' ? '' : `, not ${JSON.stringify(value)}`;
  throw new ApiError(400, 'invalid_request', `${name}: type ${what}${not}`);
}

export function isChecked(form: URLSearchParams, name: string): boolean {
  return form.get(name) !== null;
}

/** Checked against the schema of the control API. Throws ApiError 400 that names what is wrong. */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ApiError(400, 'invalid_request', describe(parsed.error));
}
