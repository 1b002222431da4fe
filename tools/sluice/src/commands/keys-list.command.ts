import { ListKeys, type KeyRecord } from '@libs/contracts';
import { optionalId, type Command } from '../command';
import { ORGANIZATION_OPTION, organizationOf } from '../organization';
import { table } from '../table';

const PAGE = 100;

export const keysList: Command = {
  name: 'keys list',
  summary: 'List the keys of an organization, disabled ones too',
  usage: '[--workspace ID] [--organization ID]',
  options: { workspace: { type: 'string' }, ...ORGANIZATION_OPTION },
  positionals: [],
  async run(args, installation) {
    const workspaceId = optionalId(args, 'workspace') ?? null;
    const organizationId = await organizationOf(args, installation);
    const bus = await installation.bus();
    const keys: KeyRecord[] = [];
    for (let full = true; full;) {
      const filter = { organizationId, workspaceId, includeDisabled: true };
      const page = await bus.call(ListKeys, { ...filter, offset: keys.length, limit: PAGE });
      keys.push(...page.keys);
      full = page.keys.length === PAGE;
    }
    return { data: keys, text: table(['HASH', 'KIND', 'LABEL', 'LIMIT', 'STATE', 'NAME'], keys.map(rowOf)) };
  },
};

function rowOf(key: KeyRecord): string[] {
  return [key.hash, key.kind, key.label, limitOf(key), stateOf(key), key.name];
}

function limitOf(key: KeyRecord): string {
  if (key.limitUsd === null) return '-';
  return key.limitReset === null ? key.limitUsd : `${key.limitUsd} ${key.limitReset}`;
}

function stateOf(key: KeyRecord): string {
  if (key.disabled) return 'disabled';
  return key.expiresAt !== null && Date.parse(key.expiresAt) <= Date.now() ? 'expired' : 'active';
}
