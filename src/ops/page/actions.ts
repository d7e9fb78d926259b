/** What the forms of the page do: each is an order of the API, by the same code. */
import { idSchema } from '../../service/schemas.ts';
import type { Run } from '../../store/queries/runs.ts';
import type { Operator } from '../operator.ts';

/** What cannot be done, and what to do instead. */
export class Refused extends Error {
  readonly advice: string;

  constructor(words: string, advice: string) {
    super(words);
    this.advice = advice;
  }
}

export interface Done {
  readonly done: 'resync' | 'credentials' | 'products' | 'removals';
  readonly run: Run;
}

type Action = (operator: Operator, form: URLSearchParams) => Promise<Done>;

const MAX_PRODUCTS = 10_000;

export const actions: Readonly<Record<string, Action>> = {
  resync: async (operator) => ({
    done: 'resync',
    run: await operator.resync(null, { allowRemovals: false }),
  }),
  // A full read lets go of the latch, and is what is due after it.
  'retry-credentials': async (operator) => ({
    done: 'credentials',
    run: await operator.resync(null, { allowRemovals: false }),
  }),
  'resync-products': async (operator, form) => ({
    done: 'products',
    run: await operator.resync(productIds(form.get('product_ids') ?? ''), { allowRemovals: false }),
  }),
  'allow-removals': async (operator, form) => {
    if (form.get('sure') === null) {
      throw new Refused(
        'Removals were not allowed.',
        'Look in the service first, then tick the box that says so.',
      );
    }
    return { done: 'removals', run: await operator.resync(null, { allowRemovals: true }) };
  },
};

function productIds(text: string): string[] {
  const ids = [...new Set(text.split(/[\s,;]+/).filter((id) => id !== ''))];
  if (ids.length === 0) throw new Refused('No product was named.', 'Type the id of one, as digits.');
  if (ids.length > MAX_PRODUCTS) {
    throw new Refused(`These are over ${MAX_PRODUCTS} products.`, 'Read everything instead.');
  }
  const wrong = ids.find((id) => !idSchema.safeParse(id).success);
  if (wrong !== undefined) {
    throw new Refused(
      `“${wrong}” is not the id of a product.`,
      'Ids are digits; a variant’s page names its product.',
    );
  }
  return ids;
}
