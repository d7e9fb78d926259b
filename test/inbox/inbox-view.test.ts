import { renameSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { inboxPath, openInboxReader } from '../../src/inbox/inbox-file.ts';
import { InboxView } from '../../src/inbox/inbox-view.ts';
import { openInboxWriter, type InboxWriter } from '../../src/receiver/inbox-writer.ts';
import { appended } from '../mirror/direct-writer.ts';
import { delivery, newPath, T0 } from '../mirror/mirror-file.ts';

function viewOf(path: string): InboxView {
  const view = new InboxView(() => openInboxReader(path));
  onTestFinished(() => view.close());
  return view;
}

function writerAt(path: string): InboxWriter {
  const inbox = openInboxWriter(path);
  onTestFinished(() => inbox.close());
  return inbox;
}

/** Moves the inbox away while its readers have it open. */
function moveAway(path: string): void {
  for (const side of ['', '-wal', '-shm', '.lock'])
    renameSync(inboxPath(path) + side, `${path}.moved${side}`);
}

test('reads the inbox that replaced one that was moved away', () => {
  const path = newPath();
  const first = writerAt(path);
  const view = viewOf(path);
  first.append(appended([{ body: delivery('a'), arrivedAtMs: T0 }]));
  expect(view.receiver()?.inboxId).toBe(first.lastRun.inboxId);
  moveAway(path);
  expect(view.receiver()).toBeNull();
  const second = writerAt(path);
  expect(second.lastRun.inboxId).not.toBe(first.lastRun.inboxId);
  expect(view.receiver()?.inboxId).toBe(second.lastRun.inboxId);
});

test('notices rows in an inbox that replaced the watched one', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const path = newPath();
  writerAt(path);
  const onChange = vi.fn();
  onTestFinished(viewOf(path).watch(onChange));
  vi.advanceTimersByTime(100);
  expect(onChange).toHaveBeenCalledTimes(1);
  moveAway(path);
  writerAt(path).append(appended([{ body: delivery('a'), arrivedAtMs: T0 }]));
  vi.advanceTimersByTime(100);
  expect(onChange).toHaveBeenCalledTimes(2);
});
