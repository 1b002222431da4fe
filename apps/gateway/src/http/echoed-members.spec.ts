import * as contracts from '@libs/contracts';
import type { ReadOnlyMembers } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { validateChange } from './echoed-members';

class Change {}

/** Every list in the contracts. */
const LISTS = Object.entries(contracts)
  .filter(([name]) => name.startsWith('READ_ONLY_OF_'))
  .map(([, list]) => list as ReadOnlyMembers<object>);
const MEMBERS = LISTS.flatMap((list) => [...(list.created ?? []), ...list.fixed].map((name) => [name, list] as const));

describe(validateChange.name, () => {
  it('knows the lists of keys, workspaces, budgets, issuers, policies and credentials', () => {
    expect(LISTS).toHaveLength(6);
  });

  it.each(MEMBERS)('takes %s with its present value only', async (name, list) => {
    const change = (value: unknown): Promise<Change> =>
      validateChange(Change, { [name]: value }, list, async () => ({ [name]: 'present' }));
    expect(await change('present')).toEqual({});
    for (const other of ['other', null, true, ['present']]) {
      const error = AppError.from(await change(other).catch((thrown: unknown) => thrown));
      expect(error).toMatchObject({ code: 'invalid_request', metadata: { param: name } });
    }
  });

  it.each(LISTS.flatMap((list) => list.moving.map((name) => [name, list] as const)))(
    'takes %s with any value, because it changes by itself',
    async (name, list) => {
      const present = jest.fn();
      expect(await validateChange(Change, { [name]: 'old' }, list, present)).toEqual({});
      expect(present).not.toHaveBeenCalled();
    },
  );

  it('takes a time that is written in another way, and no other time', async () => {
    const list: ReadOnlyMembers<{ created_at: string }> = { fixed: ['created_at'], moving: [] };
    const present = async () => ({ created_at: '2026-11-26T10:00:00.000Z' });
    expect(await validateChange(Change, { created_at: '2026-11-26T10:00:00+00:00' }, list, present)).toEqual({});
    await expect(validateChange(Change, { created_at: '2026-11-26T10:00:01Z' }, list, present)).rejects.toThrow();
  });

  it('refuses a member that has no value yet', async () => {
    const list: ReadOnlyMembers<{ id: string }> = { fixed: ['id'], moving: [] };
    await expect(validateChange(Change, { id: 'x' }, list, async () => ({}))).rejects.toThrow('id is set by');
  });
});
