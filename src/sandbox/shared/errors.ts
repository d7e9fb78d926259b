type ErrorCode =
  | 'invalid_request'
  | 'unsupported_grant_type'
  | 'invalid_client'
  | 'invalid_token'
  | 'access_denied'
  | 'quota_exceeded'
  | 'not_found'
  | 'slow_down'
  | 'server_error';

type ErrorStatus = 400 | 401 | 403 | 404 | 413 | 429 | 500;

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: ErrorStatus;
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: ErrorStatus,
    code: ErrorCode,
    description: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(description);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** The operation is impossible in the store's current state. Nothing was changed. */
export class OperationError extends ApiError {
  constructor(description: string) {
    super(400, 'invalid_request', description);
  }
}

export interface Access {
  /** For orders and addresses; the product endpoints have no 403. */
  accessDenied: boolean;
  quotaExceeded: boolean;
}
