import type { Dispatcher } from 'undici';

const NO_PATH = /[^\x21-\xff]/;
const NO_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const NAME = /^[\w!#$%&'*+\-.^`|~]+$/;
/** Header names that were valid before: nearly every request has the same few names. */
const knownNames = new Set<string>();
const MOST_KNOWN = 256;

/**
 * Returns why the headers or path of a request cannot be sent, without the invalid value, which may be a key; null if
 * they are valid. Undici would refuse it too, but its pool then considers the connection busy forever: after as many
 * such requests as there are connections, every later call would wait until it times out.
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
