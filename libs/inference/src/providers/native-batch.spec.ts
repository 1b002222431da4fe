import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createProviderAdapters } from '.';
import { describeBatchConformance } from './testing/batch-conformance';
import { UpstreamHttp } from '../wire/upstream-http';

const PROTOCOLS = ['anthropic', 'azure', 'google', 'mistral', 'openai'];

describe('batch APIs', () => {
  it('are offered by the protocols that are held to them here, and by no other', () => {
    const adapters = [...createProviderAdapters(new UpstreamHttp())];
    const offering = adapters.filter(([, { batch }]) => batch !== undefined).map(([protocol]) => protocol);
    expect(offering.toSorted()).toEqual(PROTOCOLS);
    const recorded = (protocol: string): boolean => existsSync(join(__dirname, '__fixtures__', protocol, 'batch.json'));
    expect(PROTOCOLS.filter((protocol) => !recorded(protocol))).toEqual([]);
  });
});

for (const protocol of PROTOCOLS) describeBatchConformance(protocol);
