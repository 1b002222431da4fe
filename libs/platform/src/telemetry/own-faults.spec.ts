import { AppError } from '@libs/errors';
import { metricsRegistry } from './metrics';
import { noteOwnFault } from './own-faults';

const countOf = async (code: string): Promise<number> => {
  const metric = await metricsRegistry.getSingleMetric('sluice_own_faults_total')!.get();
  return metric.values.find(({ labels }) => labels['code'] === code)?.value ?? 0;
};

describe(noteOwnFault.name, () => {
  it('counts each fault by its code, and logs a bug with its cause', async () => {
    const logged: unknown[][] = [];
    const logger = { error: (...line: unknown[]) => void logged.push(line) };
    const bug = AppError.from(new TypeError('x is undefined'));
    noteOwnFault(bug, 'acme', logger);
    noteOwnFault(new AppError('provider_unavailable', 'There is no key'), 'acme', logger);
    expect(await Promise.all([countOf('server'), countOf('provider_unavailable')])).toEqual([1, 1]);
    expect(logged).toEqual([[expect.any(String), { err: bug, code: 'server', provider: 'acme' }]]);
  });
});
