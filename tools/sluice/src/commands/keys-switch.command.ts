import { API_KEY_HASH, DeleteKey, UpdateKey } from '@libs/contracts';
import { positional, UsageError, type Command, type CommandArguments } from '../command';
import { ORGANIZATION_OPTION, organizationOf } from '../organization';

const shape = { usage: 'HASH [--organization ID]', options: ORGANIZATION_OPTION, positionals: ['HASH'] } as const;

export const keysDisable = switching('disable', 'Disable a key; it stops working within a second', true);
export const keysEnable = switching('enable', 'Enable a disabled key', false);

export const keysDelete: Command = {
  ...shape,
  name: 'keys delete',
  summary: 'Delete a key for good; it stops working within a second',
  async run(args, installation) {
    const hash = readHash(args);
    const organizationId = await organizationOf(args, installation);
    const bus = await installation.bus();
    return { data: await bus.call(DeleteKey, { organizationId, hash }), text: 'deleted' };
  },
};

function switching(verb: 'disable' | 'enable', summary: string, disabled: boolean): Command {
  return {
    ...shape,
    name: `keys ${verb}`,
    summary,
    async run(args, installation) {
      const hash = readHash(args);
      const organizationId = await organizationOf(args, installation);
      const bus = await installation.bus();
      const record = await bus.call(UpdateKey, { organizationId, hash, disabled });
      return { data: record, text: `${record.name} is ${disabled ? 'disabled' : 'enabled'}` };
    },
  };
}

function readHash(args: CommandArguments): string {
  const hash = positional(args, 0);
  if (!API_KEY_HASH.test(hash)) throw new UsageError('HASH must be the 64 hex characters that `keys list` shows');
  return hash;
}
