/** Why no request is sent to the store at present. */
export interface Blocked {
  readonly kind: 'credentials' | 'breaker' | 'rate_limited' | 'wrong_store';
  readonly message: string;
  /** Epoch ms. */
  readonly sinceMs: number;
  readonly at?: string;
  readonly failure?: {
    readonly kind: string;
    readonly status: number | null;
    /** The network's, such as `ECONNREFUSED`. */
    readonly code: string | null;
  };
}
