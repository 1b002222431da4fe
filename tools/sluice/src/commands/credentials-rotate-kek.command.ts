import { RewrapCredentials } from '@libs/contracts';
import type { Command } from '../command';

/** Large enough to be quick, and small enough that its statements hold up no other work. */
const PAGE = 500;

/**
 * Wraps all data keys with the current key-encryption key, page by page. The exit code shows whether anything is left:
 * an earlier key must stay in the keyring until it is 0.
 */
export const credentialsRotateKek: Command = {
  name: 'credentials rotate-kek',
  summary: 'Wrap all provider keys with the current key of CREDENTIALS_KEYRING, while they are in use',
  usage: '',
  options: {},
  positionals: [],
  async run(_args, installation) {
    const bus = await installation.bus();
    const failedIds: string[] = [];
    let rewrapped = 0;
    let page = await bus.call(RewrapCredentials, { limit: PAGE });
    const { keyId } = page;
    for (;;) {
      rewrapped += page.rewrapped;
      failedIds.push(...page.failedIds);
      if (page.lastId === null) break;
      page = await bus.call(RewrapCredentials, { limit: PAGE, afterId: page.lastId, keyId });
    }
    const { remaining } = page;
    const failed = failedIds.map((id) => `\ncannot be opened: ${id}`).join('');
    return {
      data: { key_id: keyId, rewrapped, remaining, failed_ids: failedIds },
      text: `Wrapped ${rewrapped} credentials with key ${keyId}; ${remaining} are left with another.${failed}`,
      failed: remaining > 0,
    };
  },
};
