import { defineConfig } from 'drizzle-kit';

export default defineConfig({ dialect: 'sqlite', schema: './src/mirror/file/schema.ts', out: './drizzle' });
