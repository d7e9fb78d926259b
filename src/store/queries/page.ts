/** What the ops page asks for, but for what must be parsed (parsing.ts). */
import { corrections } from './page-drift.ts';
import { glance, loggedMinutes, owedReads } from './page-overview.ts';
import { findStock } from './page-stock.ts';

export const pageQueries = {
  glance,
  owedReads,
  loggedMinutes,
  findStock,
  corrections,
};
