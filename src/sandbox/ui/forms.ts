/** Forms generated from the schemas of the control API. */
import { html } from 'hono/html';
import { z } from 'zod';
import type { Html } from '../../web/html.ts';
import { describe } from '../api/request-body.ts';
import { ApiError } from '../shared/errors.ts';

type Values = Readonly<Record<string, unknown>>;

interface Field {
  /** `fail.server_error` */
  readonly path: string;
  readonly label: string;
  readonly value: unknown;
}

/** One field for each text, number and switch of the schema; lists have none. */
function fieldsOf(schema: z.ZodObject, values: Values, prefix = ''): Field[] {
  return Object.entries<z.core.$ZodType>(schema.shape).flatMap(([name, each]) => {
    const inner = each instanceof z.ZodOptional ? each.unwrap() : each;
    const value = values[name];
    const path = prefix + name;
    if (inner instanceof z.ZodObject) return fieldsOf(inner, value as Values, `${path}.`);
    if (Array.isArray(value)) return [];
    const label = (each as z.ZodType).description ?? (inner as z.ZodType).description ?? path;
    return [{ path, label, value }];
  });
}

interface SchemaForm {
  readonly name: string;
  readonly title: string;
  readonly schema: z.ZodObject;
  readonly values: Values;
  readonly action: string;
  /** The form as it was refused, to show it again. */
  readonly typed: URLSearchParams | undefined;
}

export function schemaForm({ name, title, schema, values, action, typed }: SchemaForm): Html {
  return html`<section aria-labelledby="${name}-title">
    <form id="${name}" method="post" action="${action}" data-live="form">
      <h2 id="${name}-title">${title}</h2>
      <div class="fields">${fieldsOf(schema, values).map((field) => input(field, typed))}</div>
      <button class="main">Apply</button>
    </form>
  </section>`;
}

function input({ path, label, value }: Field, typed: URLSearchParams | undefined): Html {
  if (typeof value === 'boolean') {
    const isOn = typed === undefined ? value : typed.has(path);
    return html`<label class="check"
      ><input type="checkbox" name="${path}" ${isOn ? html`checked` : ''} /> ${label}</label
    >`;
  }
  const isNumber = typeof value === 'number';
  return html`<label
    >${label}
    <input
      name="${path}"
      value="${typed?.get(path) ?? String(value)}"
      ${isNumber ? html`inputmode="decimal" required` : html`spellcheck="false"`}
  /></label>`;
}

/** The posted form as a body of the control API. Throws ApiError 400 that names what is wrong. */
export function bodyOf<Schema extends z.ZodObject>(
  schema: Schema,
  values: Values,
  form: URLSearchParams,
): z.output<Schema> {
  const body: Record<string, unknown> = {};
  for (const { path, value } of fieldsOf(schema, values)) {
    const [first = '', second] = path.split('.');
    const typed = typedAs(value, path, form);
    body[first] = second === undefined ? typed : { ...(body[first] as object | undefined), [second]: typed };
  }
  return checked(schema, body);
}

function typedAs(value: unknown, path: string, form: URLSearchParams): unknown {
  if (typeof value === 'boolean') return form.has(path);
  return typeof value === 'number' ? numberIn(form, path) : textIn(form, path);
}

export function textIn(form: URLSearchParams, name: string): string {
  return form.get(name)?.trim() ?? '';
}

/** NaN for anything else than a number. */
export function numberIn(form: URLSearchParams, name: string): number {
  const text = textIn(form, name);
  return text === '' ? NaN : Number(text);
}

function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ApiError(400, 'invalid_request', describe(parsed.error));
}
