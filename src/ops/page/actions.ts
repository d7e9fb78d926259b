/** The actions of the page's forms: each runs the code of an API request. */
import { idSchema } from '../../store-api/contract/schemas.ts';
import type { Run } from '../../core/runs.ts';
import type { Operator } from '../shared/operator.ts';

/** Why an action was refused, and what to do instead. */
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
  // A full read lifts the credential lockout, and is due after it.
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
        'Nothing was removed.',
        'Check the products in the store first, then tick the box that confirms it.',
      );
    }
    return { done: 'removals', run: await operator.resync(null, { allowRemovals: true }) };
  },
};

function productIds(text: string): string[] {
  const ids = [...new Set(text.split(/[\s,;]+/).filter((id) => id !== ''))];
  if (ids.length === 0) throw new Refused('No product id was given.', 'Type one or more product ids.');
  if (ids.length > MAX_PRODUCTS) {
    throw new Refused(`These are more than ${MAX_PRODUCTS} products.`, 'Read everything instead.');
  }
  const wrong = ids.find((id) => !idSchema.safeParse(id).success);
  if (wrong !== undefined) {
    throw new Refused(
      `“${wrong}” is not a product id.`,
      'Ids have digits only; a variant’s page shows the id of its product.',
    );
  }
  return ids;
}
