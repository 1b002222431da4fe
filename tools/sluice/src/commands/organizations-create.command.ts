import { CreateOrganization } from '@libs/contracts';
import { requiredText, type Command } from '../command';

export const organizationsCreate: Command = {
  name: 'organizations create',
  summary: 'Create an organization with its default workspace',
  usage: '--name NAME',
  options: { name: { type: 'string' } },
  positionals: [],
  async run(args, installation) {
    const bus = await installation.bus();
    const organization = await bus.call(CreateOrganization, { name: requiredText(args, 'name') });
    return {
      data: organization,
      text: `organization       ${organization.id}\ndefault workspace  ${organization.defaultWorkspaceId}`,
    };
  },
};
