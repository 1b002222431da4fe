import type { Dispatcher } from 'undici';

const NO_PATH = /[^\x21-\xff]/;
const NO_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const NAME = /^[\w!#$%&'*+\-.^`|~]+$/;
/** Names that were good: nearly every request has the same few. */
const knownNames = new Set<string>();
const MOST_KNOWN = 256;

/**
 * Why the head of a request cannot be sent, without the value at fault, which may be a key; null for a good one.
 *
 * Undici refuses the same, but its pool then takes the connection that refused for a busy one and never looks at it
 * again: as many such requests as there are connections, and every later call waits until its time is up.
 *
 * @param request its headers are a list of names and values
 */
export function headFlaw({ path, headers }: Dispatcher.DispatchOptions): string | null {
  if (NO_PATH.test(path)) return 'the path has characters that no request may have';
  const list = headers as readonly string[] | undefined;
  for (let index = 0; list !== undefined && index < list.length; index += 2) {
    const name = list[index]!;
    if (!isName(name)) return 'a header has no name';
    if (NO_VALUE.test(list[index + 1]!)) return `the header ${name} has characters that no header may have`;
  }
  return null;
}

function isName(text: string): boolean {
  if (knownNames.has(text)) return true;
  if (!NAME.test(text)) return false;
  if (knownNames.size < MOST_KNOWN) knownNames.add(text);
  return true;
}
