import { Module } from '@nestjs/common';
import { GuideController, LlmsController } from './guide.controller.js';

@Module({ controllers: [GuideController, LlmsController] })
export class GuideModule {}
