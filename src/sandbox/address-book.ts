import type { z } from 'zod';
import { addressInputSchema } from '../service/order-schemas.ts';
import type { Ids } from './ids.ts';
import { OperationError } from './targets.ts';
import { ownAddresses } from './wares.ts';

export type NewAddress = z.output<typeof addressInputSchema>;
export type StoredAddress = NewAddress & { readonly id: string };
export type StoreAddress = StoredAddress & { readonly is_primary: boolean };

export type AddressBook = {
  /** The store's own: primary first, then oldest; the first is the default sender. */
  own(): readonly StoreAddress[];
  addOwn(address: NewAddress, isPrimary: boolean): StoreAddress;
  /** None, one or several may be primary. */
  setPrimary(id: string, isPrimary: boolean): void;
  addCustomers(address: NewAddress): StoredAddress;
  findOwn(id: string): StoredAddress | undefined;
  /** An address of the store or of a customer. */
  find(id: string): StoredAddress | undefined;
};

/** The store's own sender addresses and those of its customers. */
export function createAddressBook(deps: { ids: Ids }): AddressBook {
  const { ids } = deps;
  // Maps keep insertion order: oldest first.
  const own = new Map<string, { address: StoredAddress; isPrimary: boolean }>();
  const customers = new Map<string, StoredAddress>();

  const shown = ({ address, isPrimary }: { address: StoredAddress; isPrimary: boolean }): StoreAddress => ({
    ...address,
    is_primary: isPrimary,
  });

  const book: AddressBook = {
    own: () => {
      const all = [...own.values()].map(shown);
      return [...all.filter((each) => each.is_primary), ...all.filter((each) => !each.is_primary)];
    },
    addOwn: (address, isPrimary) => {
      const entry = { address: { id: ids.next(), ...address }, isPrimary };
      own.set(entry.address.id, entry);
      return shown(entry);
    },
    setPrimary: (id, isPrimary) => {
      const entry = own.get(id);
      if (entry === undefined) throw new OperationError(`the store has no own address ${id}`);
      entry.isPrimary = isPrimary;
    },
    addCustomers: (address) => {
      const stored = { id: ids.next(), ...address };
      customers.set(stored.id, stored);
      return stored;
    },
    findOwn: (id) => own.get(id)?.address,
    find: (id) => own.get(id)?.address ?? customers.get(id),
  };

  // The primary address is not the oldest, so that confusing the two shows.
  ownAddresses.forEach((address, index) => book.addOwn(addressInputSchema.parse(address), index === 1));
  return book;
}
