/** POST /v1/store/address/list. */
import type { Call, CallOptions } from './call.ts';
import type { AnswerTimes } from '../transport/errors.ts';
import { addressListRequestSchema, addressListResponseSchema } from '../contract/order-schemas.ts';
import type { AddressListRequest, AddressListResponse } from '../contract/order-schemas.ts';

export interface AddressListAnswer extends AnswerTimes {
  readonly page: AddressListResponse;
  readonly requestId: string;
}

export const ADDRESS_LIST_ENDPOINT = '/v1/store/address/list';

/**
 * Lists one page of the store's own (sender) addresses, primary first, then oldest first
 * (docs/store-api.md#post-v1storeaddresslist). The first of the first page is the default sender; customers'
 * addresses are not listed. The ids never change: read them once and keep them.
 *
 * @param request `limit` 1 to 200, default 100; `offset` from 0.
 * @throws ServiceError.
 */
export async function listAddresses(
  call: Call,
  request: AddressListRequest = {},
  options?: CallOptions,
): Promise<AddressListAnswer> {
  const {
    value,
    json: _,
    ...rest
  } = await call(
    {
      endpoint: ADDRESS_LIST_ENDPOINT,
      requestSchema: addressListRequestSchema,
      answerSchema: addressListResponseSchema,
      body: request,
    },
    options,
  );
  return { page: value, ...rest };
}
