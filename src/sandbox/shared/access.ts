import { ApiError } from './errors.ts';

/** Switches for what the channel may not do ("Errors": 403). */
export interface Access {
  /** The channel may not use the store's orders and addresses. The product endpoints have no 403. */
  accessDenied: boolean;
  /** The store's subscription has no orders left. */
  quotaExceeded: boolean;
}

export function requireAccess(access: Access): void {
  if (access.accessDenied)
    throw new ApiError(403, 'access_denied', 'the channel may not do that for its store');
}

export function requireQuota(access: Access): void {
  if (access.quotaExceeded) {
    throw new ApiError(403, 'quota_exceeded', 'the order quota of the store’s subscription is used up');
  }
}
