import { Body, Controller, Delete, Get, Param, Put } from '@nestjs/common';
import { PutBudgetDto, type Principal, type WorkspaceBudgetDto, READ_ONLY_OF_BUDGETS } from '@libs/contracts';
import { RequiresManagementKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { validateChange } from '../http/echoed-members';
import { BudgetsService, type BudgetAnswer } from './budgets.service';

/** Routes for the budgets of a workspace; for management keys. */
@Controller('workspaces/:id/budgets')
@RequiresManagementKey()
export class BudgetsController {
  constructor(private readonly budgets: BudgetsService) {}

  @Get()
  async list(@Caller() caller: Principal, @Param('id') id: string): Promise<BudgetAnswer<WorkspaceBudgetDto[]>> {
    return this.budgets.list(caller, id);
  }

  @Get(':interval')
  async get(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Param('interval') interval: string,
  ): Promise<BudgetAnswer<WorkspaceBudgetDto>> {
    return this.budgets.get(caller, id, interval);
  }

  @Put(':interval')
  async put(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Param('interval') interval: string,
    @Body() body: unknown,
  ): Promise<BudgetAnswer<WorkspaceBudgetDto>> {
    const present = (): Promise<Partial<WorkspaceBudgetDto>> => this.budgets.present(caller, id, interval);
    const budget = await validateChange(PutBudgetDto, body, READ_ONLY_OF_BUDGETS, present);
    return this.budgets.put(caller, id, interval, budget);
  }

  @Delete(':interval')
  async delete(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Param('interval') interval: string,
  ): Promise<{ deleted: true }> {
    await this.budgets.delete(caller, id, interval);
    return { deleted: true };
  }
}
