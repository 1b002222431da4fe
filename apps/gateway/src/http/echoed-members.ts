import { isDeepStrictEqual } from 'node:util';
import type { ReadOnlyMembers } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { validateClosed } from '@libs/platform';

/**
 * Validates the body of a change. It may also contain fields that the service or the creation sets, as answers do, but
 * only with their present values: otherwise the caller would think that they were changed.
 * @param present called only if there is something to compare; a field that is missing in it has no value yet
 * @throws AppError invalid_request with the name of the field; any error of `present`
 */
export async function validateChange<T extends object, View extends object>(
  Class: new () => T,
  body: unknown,
  { created = [], fixed, moving }: ReadOnlyMembers<View>,
  present: () => Promise<Partial<View>>,
): Promise<T> {
  const change = validateClosed(Class, body, [...created, ...fixed, ...moving]);
  const sent = body as Partial<View>;
  const echoed = [...created, ...fixed].filter((name) => Object.hasOwn(sent, name));
  if (echoed.length === 0) return change;
  const view = await present();
  const other = echoed.find((name) => !isSame(name, sent[name], view[name]));
  if (other === undefined) return change;
  const setter = created.includes(other) ? 'when it is created' : 'by the service';
  throw new AppError('invalid_request', `${other} is set ${setter} and cannot be changed here`, {
    metadata: { param: other },
  });
}

/** Clients may write the same time in a different format. */
function isSame(name: string, sent: unknown, present: unknown): boolean {
  if (isDeepStrictEqual(sent, present)) return true;
  const isTime = name.endsWith('_at') && typeof sent === 'string' && typeof present === 'string';
  return isTime && Date.parse(sent) === Date.parse(present);
}
