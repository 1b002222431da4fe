import {
  CreateKey,
  hashApiKey,
  labelApiKey,
  LIMIT_RESETS,
  MAX_USD,
  mintApiKey,
  USD_DECIMAL,
  type LimitReset,
} from '@libs/contracts';
import {
  flag,
  optionalId,
  optionalText,
  requiredText,
  UsageError,
  type Command,
  type CommandArguments,
} from '../command';
import { ORGANIZATION_OPTION, organizationOf } from '../organization';

/** Creates the key here and sends only its hash: this terminal is the only place that ever shows the key. */
export const keysCreate: Command = {
  name: 'keys create',
  summary: 'Create a key and print it, once',
  usage:
    '--name NAME [--management] [--workspace ID] [--limit USD] [--limit-reset daily|weekly|monthly] ' +
    '[--expires TIME] [--organization ID]',
  options: {
    name: { type: 'string' },
    management: { type: 'boolean' },
    workspace: { type: 'string' },
    limit: { type: 'string' },
    'limit-reset': { type: 'string' },
    expires: { type: 'string' },
    ...ORGANIZATION_OPTION,
  },
  positionals: [],
  async run(args, installation) {
    const kind = flag(args, 'management') ? 'management' : 'api';
    if (kind === 'management') refuseOptions(args, ['workspace', 'limit', 'limit-reset']);
    const name = requiredText(args, 'name');
    const limits = { limitUsd: readLimit(args), limitReset: readLimitReset(args) };
    const expiresAt = optionalText(args, 'expires') ?? null;
    const workspaceId = optionalId(args, 'workspace') ?? null;
    const organizationId = await organizationOf(args, installation);
    const key = mintApiKey(installation.serviceName, kind);
    const references = { organizationId, workspaceId, kind, hash: hashApiKey(key), label: labelApiKey(key) } as const;
    const bus = await installation.bus();
    const record = await bus.call(CreateKey, { ...references, name, ...limits, expiresAt });
    return { data: { key, ...record }, text: `key   ${key}\nhash  ${record.hash}` };
  },
};

function refuseOptions(args: CommandArguments, options: readonly string[]): void {
  for (const option of options) {
    if (args.values[option] !== undefined) throw new UsageError(`--${option} does not go with --management`);
  }
}

function readLimit(args: CommandArguments): string | null {
  const text = optionalText(args, 'limit');
  if (text === undefined) return null;
  if (!USD_DECIMAL.test(text) || Number(text) > MAX_USD) {
    throw new UsageError(`--limit must be an amount of US dollars from 0 to ${MAX_USD}, such as 10 or 2.50`);
  }
  return text;
}

function readLimitReset(args: CommandArguments): LimitReset | null {
  const text = optionalText(args, 'limit-reset');
  if (text === undefined) return null;
  const reset = LIMIT_RESETS.find((known) => known === text);
  if (!reset) throw new UsageError(`--limit-reset must be one of ${LIMIT_RESETS.join(', ')}`);
  return reset;
}
