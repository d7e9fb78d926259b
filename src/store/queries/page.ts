/** The queries of the ops page, except those that must parse (parsing.ts). */
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
