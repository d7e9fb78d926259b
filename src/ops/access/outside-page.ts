import { frame } from '../../web/frame.ts';
import type { Html } from '../../web/html.ts';

interface OutsidePage {
  readonly title: string;
  readonly message?: Html | '';
  readonly main: Html;
}

/** A page for a browser that is not signed in: without links to the mirror's pages, and not reloaded. */
export function outsidePage({ title, message = '', main }: OutsidePage): Html {
  return frame({
    title: `${title}: stock-mirror`,
    brand: 'stock-mirror',
    server: 'The mirror',
    everyMs: null,
    links: [],
    at: '',
    tools: '',
    message,
    main,
  });
}
