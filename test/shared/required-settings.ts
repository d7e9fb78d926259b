/** The settings without a default. Nothing listens at the store's address. */
export const REQUIRED_SETTINGS = {
  SERVICE_BASE_URL: 'http://127.0.0.1:9',
  SERVICE_CLIENT_ID: 'c',
  SERVICE_CLIENT_SECRET: 's',
  SERVICE_WEBHOOK_SECRET: 'w',
} as const;
