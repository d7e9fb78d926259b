/** An API document for people, rendered without scripts or third-party files. */
import { html, raw } from 'hono/html';
import type { Html } from './html.ts';

type Schema = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> };
  readonly responses?: Readonly<
    Record<
      string,
      {
        readonly description?: string;
        readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
      }
    >
  >;
}

/** The parts of an OpenAPI 3.1 document that are shown. */
interface ApiDocument {
  readonly info: { readonly title: string; readonly description?: string };
  readonly paths?: object;
  /** What the API sends by itself. */
  readonly webhooks?: object;
  readonly components?: { readonly schemas?: object };
}

/** The whole page; its style sheet is expected at `/docs.css`. */
export function apiDocs({ info, paths = {}, webhooks = {}, components }: ApiDocument): Html {
  const title = /API$/.test(info.title) ? info.title : `${info.title}: API`;
  const operations = Object.entries({ ...paths, ...webhooks }).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
      id: `${method}${path.replaceAll(/[^a-z]+/g, '-')}`,
    })),
  );
  const schemas = Object.entries((components?.schemas ?? {}) as Record<string, Schema>);
  return html`${raw('<!doctype html>')}
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/docs.css" />
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${paragraphs(info.description)}
          <p>For programs: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>
          <nav aria-label="Endpoints">
            <ul>
              ${operations.map(
                ({ id, method, path, operation }) =>
                  html`<li>
                    <a href="#${id}"><code>${method} ${path}</code></a> ${operation.summary ?? ''}
                  </li>`,
              )}
            </ul>
          </nav>
          ${operations.map(
            ({ id, method, path, operation }) => html`
              <section id="${id}">
                <h2><code>${method} ${path}</code></h2>
                <p><b>${operation.summary ?? ''}</b></p>
                ${paragraphs(operation.description)} ${parameters(operation)} ${body(operation)}
                ${responses(operation)}
              </section>
            `,
          )}
          ${schemas.map(
            ([name, schema]) => html`
              <section id="schema-${name}">
                <h2>${name}</h2>
                ${fields(schema)}
              </section>
            `,
          )}
        </main>
      </body>
    </html>`;
}

function paragraphs(text: string | undefined): Html[] {
  return (text ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => html`<p>${line}</p>`);
}

function parameters({ parameters: all = [] }: Operation): Html | '' {
  if (all.length === 0) return '';
  return table(
    'Parameters',
    all.map(({ name, in: place, description, schema, required }) => ({
      name: place === 'query' ? name : `${name} (${place})`,
      type: html`${typeOf(schema ?? {})}${required === true ? ', required' : ''}`,
      meaning: description ?? textOf(schema?.['description']),
    })),
  );
}

function body({ requestBody }: Operation): Html | '' {
  const [[type, { schema = {} }] = ['', {}]] = Object.entries(requestBody?.content ?? {});
  if (type === '') return '';
  const isOwn = schema['properties'] !== undefined;
  return html`<h3>Body</h3>
    ${isOwn ? '' : html`<p><code>${type}</code>: ${typeOf(schema)}</p>`}${fields(schema)}`;
}

function responses({ responses: all = {} }: Operation): Html[] {
  return Object.entries(all).map(([status, { description, content = {} }]) => {
    const [[type, { schema = {} }] = ['', {}]] = Object.entries(content);
    const isOwn = schema['properties'] !== undefined;
    return html`<h3>${status}</h3>
      <p>${description ?? ''} ${isOwn ? '' : html`(<code>${type}</code>: ${typeOf(schema)})`}</p>
      ${isOwn ? fields(schema) : ''}`;
  });
}

function fields(schema: Schema): Html | '' {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>);
  if (properties.length === 0) return '';
  return table(
    'Fields',
    properties.map(([name, of]) => ({
      name,
      type: typeOf(of),
      meaning: textOf(of['description']),
    })),
  );
}

interface Row {
  readonly name: string;
  readonly type: Html;
  readonly meaning: string;
}

function table(caption: string, rows: readonly Row[]): Html {
  return html`<table>
    <caption>
      ${caption}
    </caption>
    <tbody>
      ${rows.map(
        ({ name, type, meaning }) =>
          html`<tr>
            <th scope="row"><code>${name}</code></th>
            <td>${type}</td>
            <td>${meaning}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** `integer or null`, `Change[]`, `"0" | "1"`. */
function typeOf(schema: Schema): Html {
  const ref = schema['$ref'];
  if (typeof ref === 'string') {
    const name = ref.split('/').at(-1) ?? '';
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  if (Array.isArray(schema['enum']))
    return html`${schema['enum'].map((value) => JSON.stringify(value)).join(' | ')}`;
  if (schema['const'] !== undefined) return html`${JSON.stringify(schema['const'])}`;
  for (const key of ['anyOf', 'allOf', 'oneOf']) {
    const among = schema[key];
    if (Array.isArray(among)) {
      return html`${(among as Schema[]).map((one, n) => html`${n === 0 ? '' : ' or '}${typeOf(one)}`)}`;
    }
  }
  const { type } = schema;
  if (type === 'array') return html`${typeOf((schema['items'] ?? {}) as Schema)}[]`;
  return html`${Array.isArray(type) ? type.join(' or ') : textOf(type) || 'any'}`;
}

export const apiDocsStyle = `:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 0.9375rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; padding-top: 1rem; border-top: 1px solid #8888; }
h3 { font-size: 0.9375rem; margin: 1rem 0 0.25rem; }
code { font: 0.875em ui-monospace, Menlo, monospace; }
nav ul { list-style: none; padding: 0; }
table { width: 100%; border-collapse: collapse; margin: 0.25rem 0 0.75rem; }
caption { text-align: left; font-weight: 600; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 0.75rem 0.2rem 0; border-bottom: 1px solid #8884; font-weight: 400; }
:focus-visible { outline: 2px solid; outline-offset: 2px; }
`;
