import { CatalogueError, CatalogueSource, PROTOCOLS } from '@libs/inference';
import { positional, type Command } from '../command';
import { table } from '../table';

export const catalogCheck: Command = {
  name: 'catalog check',
  summary: 'Read a catalogue, a file or a folder of them, and say everything that is wrong with it',
  usage: 'FILE',
  options: {},
  positionals: ['FILE'],
  looksForFaults: true,
  async run(args) {
    const problems: unknown[] = [];
    const source = new CatalogueSource(positional(args, 0), {
      protocols: PROTOCOLS,
      onProblem: (problem) => problems.push(problem),
    });
    try {
      await source.start();
      const catalogue = source.current();
      const models = catalogue.models();
      const counts = {
        providers: catalogue.providers().length,
        models: models.length,
        endpoints: models.reduce((sum, { endpoints }) => sum + endpoints.length, 0),
      };
      const rows = Object.entries(counts).map(([what, count]) => [what, String(count)]);
      return { data: { ok: true, ...counts }, text: `The catalogue is good.\n\n${table(['', ''], rows).trimStart()}` };
    } catch (error) {
      if (!(error instanceof CatalogueError)) throw error;
      return { data: { ok: false, problems: error.problems }, text: error.message, failed: true };
    } finally {
      await source.close();
    }
  },
};
