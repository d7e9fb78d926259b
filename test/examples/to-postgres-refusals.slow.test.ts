/** examples/to-postgres where the database refuses some rows: by its encoding, or by the ERP's own rules. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { watch, type RunningCommand } from '../cli/harness.ts';
import { change, FakeMirror, row, sent, TRUST } from '../feed/fake-mirror.ts';
import { eventually, type Owner } from '../process/harness.ts';
import { exampleCopy } from './example-copy.ts';
import { isInstalled, kill, Postgres } from './postgres.ts';

const SCHEMA = readFileSync(join(import.meta.dirname, '../../examples/to-postgres/schema.sql'), 'utf8');

interface Copy {
  readonly mirror: FakeMirror;
  readonly db: pg.Client;
  readonly follow: () => RunningCommand;
}

/** @param database the options of CREATE DATABASE. */
async function copyInto(t: Owner, database: string): Promise<Copy> {
  const postgres = new Postgres(t);
  await postgres.start();
  await postgres.query(`CREATE DATABASE erp TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' ${database}`);
  const url = postgres.url.replace('/postgres?', '/erp?');
  const db = new pg.Client(url);
  db.on('error', () => undefined);
  await db.connect();
  t.onTestFinished(() => db.end());
  await db.query(SCHEMA);
  const mirror = await new FakeMirror().start();
  const file = join(exampleCopy(t, 'to-postgres'), 'follow.ts');
  return {
    mirror,
    db,
    follow: () => {
      const env = { STOCK_MIRROR_URL: mirror.url, DATABASE_URL: url };
      const follower = watch(spawn(process.execPath, [file], { env }));
      t.onTestFinished(() => kill(follower));
      return follower;
    },
  };
}

async function sellable({ db }: Copy): Promise<unknown> {
  const columns = 'variant_id AS id, available_qty::int AS qty, trusted, why_not';
  const { rows } = await db.query(`SELECT ${columns} FROM sellable ORDER BY variant_id`);
  return rows;
}

async function setAside({ db }: Copy): Promise<unknown> {
  const { rows } = await db.query('SELECT target, variant_id AS id FROM stock_set_aside ORDER BY variant_id');
  return rows;
}

const trusted = (id: string, qty = 5) => ({ id, qty, trusted: true, why_not: null });

test.skipIf(!isInstalled)('copies into a database whose encoding lacks a character of a name', async (t) => {
  for (const [encoding, refused] of [
    ['LATIN1', ['1', '3']],
    ['WIN874', ['1', '2']],
  ] as const) {
    const copy = await copyInto(t, `ENCODING '${encoding}'`);
    const { mirror } = copy;
    mirror.rows = [
      row('1', { sku: 'Café ☕' }),
      row('2', { sku: 'Café' }),
      row('3', { sku: 'โคมไฟ' }),
      row('4'),
    ];
    mirror.stream(
      `id: 2\n${sent('change', change(2, '1', { sku: 'Café ☕' }))}`,
      `id: 3\n${sent('change', change(3, '4'))}id: 3\n\n`,
      sent('trust', TRUST),
    );
    const follower = copy.follow();
    await eventually(
      async () => {
        const kept = ['1', '2', '3', '4'].filter((id) => !(refused as readonly string[]).includes(id));
        expect(await sellable(copy), follower.stderr).toEqual(kept.map((id) => trusted(id)));
        return true;
      },
      { what: `the copy in ${encoding}` },
    );
    const { rows } = await copy.db.query('SELECT seq::int FROM stock_changes');
    expect(rows).toEqual([{ seq: 3 }]);
    const skus = { 1: 'Café ☕', 2: 'Café', 3: 'โคมไฟ' };
    expect(
      (
        await copy.db.query<{ row_text: string }>(
          'SELECT row_text FROM stock_set_aside ORDER BY target, variant_id',
        )
      ).rows.map(({ row_text: text }) => (JSON.parse(text) as { sku: string }).sku),
    ).toEqual([...refused.map((id) => skus[id]), 'Café ☕']);
    await kill(follower);
  }
});

/** Each for one variant. */
const ERP_RULES = `
  CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' AND NEW.variant_id = '1' THEN
      RAISE EXCEPTION 'no item %', NEW.sku;
    ELSIF TG_OP = 'DELETE' AND OLD.variant_id = '2' THEN
      RAISE EXCEPTION 'it has orders' USING ERRCODE = 'ERP01';
    ELSIF TG_OP = 'UPDATE' AND NEW.variant_id = '3' THEN
      RAISE EXCEPTION 'it is being counted';
    END IF;
    RETURN coalesce(NEW, OLD);
  END $$;
  CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON stock FOR EACH ROW EXECUTE FUNCTION refuse();
  CREATE FUNCTION refuse_late() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.variant_id = '4' THEN RAISE EXCEPTION 'found at the end'; END IF;
    RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER refuse_late AFTER INSERT ON stock DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION refuse_late();`;

test.skipIf(!isInstalled)('copies every row but those that a trigger of the ERP refuses', async (t) => {
  const copy = await copyInto(t, '');
  const { mirror, db } = copy;
  await db.query(ERP_RULES);
  mirror.rows = ['1', '2', '3', '4', '5', '6'].map((id) => row(id));
  const gap = { variant_id: '3', warehouse_id: '1', why_not: 'gap' };
  mirror.stream(sent('trust', { ...TRUST, untrusted: [gap, { ...gap, variant_id: '5' }] }));
  const follower = copy.follow();
  const untrusted = (id: string, whyNot: string) => ({ id, qty: 5, trusted: false, why_not: whyNot });
  const isCopied = (rows: unknown[]) => async () => {
    expect(await sellable(copy), follower.stderr).toEqual(rows);
    return true;
  };
  const first = [trusted('2'), untrusted('5', 'gap'), trusted('6')];
  await eventually(isCopied(first), { what: 'the first copy' });
  expect(await setAside(copy)).toMatchObject([
    { target: 'stock', id: '1' },
    { target: 'stock', id: '3' },
    { target: 'stock', id: '4' },
  ]);
  await kill(follower);

  // 1 is allowed now, 2 is removed, which the ERP refuses, and all continue.
  await db.query(
    `CREATE OR REPLACE FUNCTION refuse_late() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
  );
  mirror.lastSeq = 4;
  mirror.rows = ['1', '4', '5', '6'].map((id) => row(id, { available_qty: 7, change_seq: 4 }));
  const moved = ['2', '4', '6'].map((id, n) => {
    const gone = id === '2' ? { new_qty: null } : {};
    return `id: ${n + 2}\n${sent('change', change(n + 2, id, gone))}`;
  });
  mirror.stream(...moved, 'id: 4\n\n', sent('trust', { ...TRUST, last_seq: 4 }));
  const again = copy.follow();
  await eventually(
    async () => {
      expect(await sellable(copy), again.stderr).toEqual([
        untrusted('2', 'set_aside'),
        trusted('4', 7),
        trusted('5'),
        trusted('6', 7),
      ]);
      return true;
    },
    { what: 'the changes' },
  );
  expect(await setAside(copy)).toMatchObject([{ id: '1' }, { id: '2' }, { id: '3' }]);
});

test.skipIf(!isInstalled)('trusts nothing while its time of confirmation lies in the future', async (t) => {
  const copy = await copyInto(t, '');
  copy.mirror.rows = [row('1')];
  copy.mirror.stream(sent('trust', TRUST));
  const follower = copy.follow();
  await eventually(
    async () => {
      expect(await sellable(copy), follower.stderr).toEqual([trusted('1')]);
      return true;
    },
    { what: 'the copy' },
  );
  await kill(follower);
  await copy.db.query(`UPDATE stock_position SET confirmed_at = now() + interval '1 hour'`);
  expect(await sellable(copy)).toEqual([{ id: '1', qty: 5, trusted: false, why_not: 'not_confirmed' }]);
});
