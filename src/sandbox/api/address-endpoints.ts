import { addressListRequestSchema } from '../../store-api/contract/order-schemas.ts';
import { requireAccess } from '../shared/access.ts';
import type { Access } from '../shared/access.ts';
import type { AddressBook } from '../orders/address-book.ts';
import { addressListAnswer } from '../world/answers.ts';
import { endpoint } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';

export function addressEndpoints(deps: {
  readonly access: Access;
  readonly addresses: AddressBook;
}): Endpoint[] {
  const { access, addresses } = deps;
  return [
    endpoint({
      path: '/v1/store/address/list',
      summary: 'Lists the store’s own (sender) addresses',
      schema: addressListRequestSchema,
      bodyOptional: true,
      answers: addressListAnswer,
      errors: { 403: ['access_denied'] },
      answer: ({ limit = 100, offset = 0 }, { requestId }) => {
        requireAccess(access);
        const all = addresses.own();
        const end = offset + limit;
        return { request_id: requestId, addresses: all.slice(offset, end), has_more: end < all.length };
      },
    }),
  ];
}
