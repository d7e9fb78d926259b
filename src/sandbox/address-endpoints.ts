import { addressListRequestSchema } from '../service/order-schemas.ts';
import { requireAccess } from './access.ts';
import type { Access } from './access.ts';
import type { AddressBook } from './address-book.ts';
import { endpoint } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';

export function addressEndpoints(deps: { access: Access; addresses: AddressBook }): Endpoint[] {
  const { access, addresses } = deps;
  return [
    endpoint({
      path: '/v1/store/address/list',
      schema: addressListRequestSchema,
      bodyOptional: true,
      answer: ({ limit = 100, offset = 0 }, { requestId }) => {
        requireAccess(access);
        const all = addresses.own();
        const end = offset + limit;
        return {
          status: 200,
          body: { request_id: requestId, addresses: all.slice(offset, end), has_more: end < all.length },
        };
      },
    }),
  ];
}
