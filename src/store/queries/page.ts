/** The queries of the ops page, except those that are loaded when they are asked (typed.ts). */
import { glance, loggedMinutes, owedReads } from './page-overview.ts';
import { findStock } from './page-stock.ts';

export const pageQueries = {
  glance,
  owedReads,
  loggedMinutes,
  findStock,
};
