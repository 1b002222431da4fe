import { AppError } from '@libs/errors';
import { BatchViewsRepository } from '@libs/persistence';
import { positional, type Command } from '../command';
import { table } from '../table';

/** Shows an operator any batch: state, progress and money, never its lines. */
export const batchesShow: Command = {
  name: 'batches show',
  summary: 'Show the state, progress and money of a batch',
  usage: 'ID',
  options: {},
  positionals: ['ID'],
  async run(args, installation) {
    const report = await new BatchViewsRepository(await installation.database()).report(positional(args, 0));
    if (report === null) throw new AppError('not_found', 'There is no such batch');
    const rows = Object.entries(report).map(([name, value]) => [name, value === null ? '-' : String(value)]);
    return { data: report, text: table(['', ''], rows).trimStart() };
  },
};
