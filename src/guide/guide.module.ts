import { Module } from '@nestjs/common';
import { GuideController, GuideFiles, LlmsController } from './guide.controller.js';

@Module({ controllers: [GuideController, LlmsController], providers: [GuideFiles] })
export class GuideModule {}
