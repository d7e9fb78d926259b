import { cases } from './cases/products.ts';
import { runCases } from './contract.ts';

runCases(cases);
