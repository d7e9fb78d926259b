export function ago(atMs: number | null, nowMs = Date.now()): string {
  if (atMs === null) return 'never';
  const seconds = Math.max(0, Math.round((nowMs - atMs) / 1_000));
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h ago`;
  return `${Math.round(seconds / 86_400)} days ago`;
}
