import { newBrokerKeys, PARTY_NAMES } from '@libs/contracts';
import type { Command } from '../command';

export const brokerKeys: Command = {
  name: 'broker keys',
  summary: 'Make the keys that the apps and the command line sign their messages with; they are shown once',
  usage: '',
  options: {},
  positionals: [],
  async run() {
    const keys = newBrokerKeys();
    const own = PARTY_NAMES.map((party) => `# ${party} alone\nBROKER_PRIVATE_KEYS=${keys.privateKeys[party]}`);
    return { data: keys, text: ['# all', `BROKER_PUBLIC_KEYS=${keys.publicKeys}`, ...own].join('\n') };
  },
};
