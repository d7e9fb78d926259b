/** An API document for people, rendered without scripts or third-party files. */
import { html } from 'hono/html';
import { curlSample, type Schema, type Trial, type Tried } from './curl-sample.ts';
import type { Html } from './html.ts';

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
  readonly security?: readonly unknown[];
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
export interface ApiDocument {
  readonly info: { readonly title: string; readonly description?: string };
  readonly paths?: object;
  /** What the API sends by itself. */
  readonly webhooks?: object;
  readonly components?: { readonly schemas?: object };
}

interface Listed {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  /** Null: the API sends it by itself. */
  readonly curl: string | null;
}

/** What differs from listener to listener. */
interface DocsOptions extends Omit<Tried, 'schemas'> {
  /** What must be done before the commands work; null: nothing. */
  readonly before: Html | null;
}

/** The content of a page, below its heading. */
export function apiDocs(
  { info, paths = {}, webhooks = {}, components }: ApiDocument,
  { before, ...options }: DocsOptions,
): Html {
  const schemas = (components?.schemas ?? {}) as Record<string, Schema>;
  const tried: Tried = { ...options, schemas };
  const operations = [
    ...listed(paths, (method, path, operation) =>
      curlSample(trialOf(method, path, operation), withHeader(tried, operation)),
    ),
    ...listed(webhooks, () => null),
  ];
  return html`<section aria-labelledby="about-title">
      <header>
        <h2 id="about-title">${info.title}</h2>
        <span class="quiet">For programs: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1)</span>
      </header>
      ${paragraphs(info.description)} ${before ?? ''}
    </section>
    <section aria-labelledby="routes-title">
      <header><h2 id="routes-title">Routes</h2></header>
      <table class="routes">
        <thead>
          <tr>
            <th scope="col">Route</th>
            <th scope="col">What it does</th>
          </tr>
        </thead>
        <tbody>
          ${operations.map(
            ({ id, method, path, operation }) =>
              html`<tr>
                <th scope="row">
                  <a href="#${id}">${methodBadge(method)} <code>${path}</code></a>
                </th>
                <td>${operation.summary ?? ''}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </section>
    ${operations.map(operationView)}
    ${Object.entries(schemas).map(
      ([name, schema]) =>
        html`<section id="schema-${name}">
          <h2>${name}</h2>
          ${fields(schema)}
        </section>`,
    )}`;
}

function listed(
  paths: object,
  curlOf: (method: string, path: string, operation: Operation) => string | null,
): Listed[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([name, operation]) => {
      const method = name.toUpperCase();
      const id = `${name}${path.replaceAll(/[^a-z]+/g, '-')}`;
      return { id, method, path, operation, curl: curlOf(method, path, operation) };
    }),
  );
}

function trialOf(
  method: string,
  path: string,
  { parameters: all = [], requestBody, responses: answers = {} }: Operation,
): Trial {
  const [[type, { schema = {} }] = ['', {}]] = Object.entries(requestBody?.content ?? {});
  return {
    method,
    path,
    parameters: all,
    body: type === '' ? null : { type, schema },
    isStream: Object.values(answers).some(({ content = {} }) => 'text/event-stream' in content),
  };
}

/** `security: []`: this operation asks for none. */
function withHeader(tried: Tried, { security }: Operation): Tried {
  return security?.length === 0 ? { ...tried, header: null } : tried;
}

const methodBadge = (method: string): Html =>
  html`<span class="method ${method.toLowerCase()}">${method}</span>`;

function operationView({ id, method, path, operation, curl }: Listed): Html {
  return html`<section id="${id}">
    <header>
      <h2>${methodBadge(method)} <code>${path}</code></h2>
      <a class="quiet" href="#routes-title">All routes</a>
    </header>
    <p><b>${operation.summary ?? ''}</b></p>
    ${paragraphs(operation.description)}
    ${
      curl === null
        ? ''
        : html`<div class="try">
            <pre id="try-${id}" tabindex="0" aria-label="Command that tries it">${curl}</pre>
            <button class="light" data-copy="try-${id}" hidden>Copy</button>
          </div>`
    }
    ${parameters(operation)} ${body(operation)} ${responses(operation)}
  </section>`;
}

function paragraphs(text: string | undefined): Html[] {
  return (text ?? '')
    .split(/\n{2,}/)
    .filter((line) => line !== '')
    .map((line) => html`<p>${rich(line)}</p>`);
}

/** What stands between backticks, as code. */
function rich(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
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

type Responses = NonNullable<Operation['responses']>;

/** Refusals are much the same everywhere: they are told when somebody asks for them. */
function responses({ responses: all = {} }: Operation): Html {
  const [good, refused] = [/^[23]/, /^[^23]/].map((pattern) =>
    Object.entries(all).filter(([status]) => pattern.test(status)),
  );
  return html`<h3>Answers</h3>
    ${good?.map(responseView)}
    ${
      refused === undefined || refused.length === 0
        ? ''
        : html`<details>
            <summary>
              Refusals and failures:
              ${refused.map(([status], index) => html`${index === 0 ? '' : ', '}<b class="refused">${status}</b>`)}
            </summary>
            <div class="within">${refused.map(responseView)}</div>
          </details>`
    }`;
}

function responseView([status, { description, content = {} }]: [string, Responses[string]]): Html {
  const [[type, { schema = {} }] = ['', {}]] = Object.entries(content);
  const isOwn = schema['properties'] !== undefined;
  const words = html`<b class="${/^[23]/.test(status) ? 'ok' : 'refused'}">${status}</b>
    ${rich(description ?? '')}
    ${isOwn || type === '' ? '' : html`<span class="quiet">${type}: ${typeOf(schema)}</span>`}`;
  return isOwn
    ? html`<details>
        <summary>${words}</summary>
        <div class="within">${fields(schema)}</div>
      </details>`
    : html`<p class="answer">${words}</p>`;
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
  return html`<table class="meanings">
    <caption>
      ${caption}
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Type</th>
        <th scope="col">Meaning</th>
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        ({ name, type, meaning }) =>
          html`<tr>
            <th scope="row"><code>${name}</code></th>
            <td>${type}</td>
            <td>${rich(meaning)}</td>
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
