import { loadServeConfig, type ServeConfig, type SharedConfig } from '../../src/config/config.ts';

/** Of a process that shares its event log. No file is there that could say more. @param env with LOG_URL. */
export function sharedConfig(
  env: Readonly<Record<string, string>>,
  folder: string,
): ServeConfig & { readonly shared: SharedConfig } {
  const config = loadServeConfig({
    env,
    cwd: folder,
    readFile: () => {
      throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    },
  });
  const { shared } = config;
  if (shared === null) throw new Error('no LOG_URL');
  return { ...config, shared };
}
