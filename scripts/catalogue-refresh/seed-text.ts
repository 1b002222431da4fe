import type { Seed } from './refresh';

/** A seed as JSON, one line for each endpoint and source, in order of their names. */
export function seedText({ asOf, endpoints, known }: Seed): string {
  const parts = [`"asOf": ${JSON.stringify(asOf)}`, `"endpoints": ${linesOf(endpoints)}`, `"known": ${linesOf(known)}`];
  return `{\n  ${parts.join(',\n  ')}\n}\n`;
}

function linesOf(entries: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(entries).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{\n${sorted.map(([key, value]) => `    ${JSON.stringify(key)}: ${JSON.stringify(value)}`).join(',\n')}\n  }`;
}
